# SPDX-License-Identifier: MIT
"""Reading a recording with the standard library alone."""
import os
import pathlib
import sqlite3

from ._library import library
from .constants import APPLICATION_ID


class Recording:
    """A memtracer file, read-only; also while it is being recorded.

    rows() gives dictionaries; table() gives {column: list}, which pandas.DataFrame() takes.
    """

    def __init__(self, path):
        os.stat(path)
        uri = pathlib.Path(path).resolve().as_uri()
        self.connection = sqlite3.connect(uri + "?mode=ro", uri=True)
        self.connection.row_factory = sqlite3.Row
        # Labels are any bytes: of what is no UTF-8 comes a str that mark() turns into them again.
        self.connection.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
        if not self._is_ours():
            self.connection.close()
            raise ValueError("%s is not a memtracer file" % path)

    def _is_ours(self):
        try:
            return self.connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        except sqlite3.DatabaseError:
            return False

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        self.connection.close()

    def rows(self, sql, parameters=()):
        return [dict(row) for row in self.connection.execute(sql, parameters)]

    def table(self, sql, parameters=()):
        cursor = self.connection.execute(sql, parameters)
        names = [d[0] for d in cursor.description]
        columns = list(zip(*cursor.fetchall())) or [() for _ in names]
        return {name: list(column) for name, column in zip(names, columns)}

    @staticmethod
    def query(name):
        """The SQL of a query that memtracer brings, by its name."""
        sql = library().tracer_query_sql(name.encode())
        if sql is None:
            raise ValueError("there is no query %s" % name)
        return sql.decode()

    def steps(self):
        """View punctuated_growth: the steps in which memory grew and stayed."""
        return self.rows("SELECT * FROM punctuated_growth")
