"""Work on a repository inside a sandbox: files, patches, tests."""
