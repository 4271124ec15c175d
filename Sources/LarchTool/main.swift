print("larch")
