"""Start the command line: `python3 -m roombook`."""

import sys

from roombook.cli import main

sys.exit(main(sys.argv[1:]))
