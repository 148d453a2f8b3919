"""The sections of the page: functions from facts to HTML, each empty where its facts are missing."""
