class Cell: pass
