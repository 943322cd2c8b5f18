"""Named faulty backends, each the reference with one requirement broken; a suite is as strong as what it kills."""
