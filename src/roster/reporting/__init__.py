"""`roster report`: one page on a run. What the run kept (`facts`) and what its model finds (`evidence`)
become sections (`sections/`), whose charts (`charts`) are drawn by matplotlib where it is installed
(`plots`)."""
