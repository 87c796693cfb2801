"""Pictures, drawn once for slides and for the page: of the worked example and of runs, a file a step."""
