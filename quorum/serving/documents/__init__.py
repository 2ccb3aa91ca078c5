"""The documents of collections over HTTP: uploads with their events, originals, pages as pictures.

`routes` serves them, `upload_service` receives files, `indexing` puts them into a collection, `upload_folder` keeps the
events and cleans up what a killed server has left.
"""
