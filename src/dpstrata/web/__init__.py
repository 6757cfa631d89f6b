"""The local web planner: a page, and the JSON API that the page uses; both thin over the library.

The server keeps no state. Requests are worked on in a few processes of their own, bounded in time and memory.
"""
