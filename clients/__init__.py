"""The coding agents: how each registers a server and how each runs. One module an agent."""
