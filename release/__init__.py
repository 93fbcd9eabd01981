"""What a release consists of: source, wheels, a bill of materials. `make dist` runs it."""
