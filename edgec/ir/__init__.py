"""The model as a graph, independent of hardware."""
