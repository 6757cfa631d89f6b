"""A frame in memory, for many draws."""

import pyarrow as pa


class Listed:
    """People with their strata, handed out in batches as a file would be."""

    def __init__(self, ids, strata):
        self.batch = pa.record_batch({"id": pa.array(ids), "stratum": pa.array(strata)})

    def sift(self, sift):
        return sift([self.batch.slice(0, 3), self.batch.slice(3)])
