class CellDict: pass
class CellList: pass
class SequentialCell: pass
