"""`python -m hil_mcp`, the form that agents' configurations start."""

from hil_mcp.cli.main import main

if __name__ == "__main__":
    main()
