"""Case files and goldens as they are written: read, and refused where they are not exactly right."""
