"""The kernels of the measures, one module for each family or group of related families."""
