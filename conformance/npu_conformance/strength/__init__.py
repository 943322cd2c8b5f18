"""How strong the suite is: laws on random graphs, mutants that must die, coverage of the documents."""
