"""Candidates for topics: reads them, chooses some by conditions and quotas, and makes topics of those accepted."""
