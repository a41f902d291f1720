"""Start the command line: `python3 -m keepsake`."""

import sys

from keepsake.cli import main

sys.exit(main(sys.argv[1:]))
