extension SearchVerifier {
  /// Compares what the pending entries of a search say of its blocks with these.
  ///
  /// - Returns: false if an entry cannot be read, so that no word can be.
  func checkPending(_ tree: SearchTree, into report: inout VerificationReport) throws -> Bool {
    var blocks = PendingCheck()
    do {
      try PendingList.forEach(tree) { entry in
        let number = entry.number
        guard try entry.isInOrder() else { throw SearchBytes.damaged }
        for place in 0..<entry.count {
          let change = try entry.change(place, tree.search)
          if !entry.waits(place) { continue }
          let has = try blocks.have(change, tree)
          if has == change.was { continue }
          let id = try? tree.withID(of: number) { collection.stored.idKind.text(of: $0) }
          let word = String(decoding: change.word, as: UTF8.self)
          let detail = has ? "not new" : "not in the blocks"
          report.add(
            fault(
              has ? .danglingEntry : .missingEntry, tree.index, id: id ?? "number \(number)",
              detail: "word \"\(word)\", which is pending and \(detail)"))
        }
      }
      return true
    } catch let error as LarchError where error.code == .corrupted {
      report.add(
        fault(.danglingEntry, tree.index, detail: "a pending entry or its block cannot be read"))
      return false
    }
  }

  /// Tells what the blocks have, whatever is pending.
  private struct PendingCheck: ~Copyable {
    private var key = ByteBuffer(capacity: 256)
    private var prefix = ByteBuffer(capacity: 256)
    private var numbers = BlockNumbers()

    mutating func have(_ change: SearchChange, _ tree: SearchTree) throws -> Bool {
      prefix.removeAll()
      prefix.append(change.word)
      prefix.append(0)
      var cursor = try LMDBCursor(tree.index.database, in: tree.transaction)
      guard let here = try tree.find(change.number, prefix.bytes, &cursor, &key) else {
        return false
      }
      let block = try tree.block(here)
      _ = try numbers.read(first: block.first, block.value)
      let place = SearchEvaluator.place(atOrAfter: change.number, in: numbers.all)
      return place < numbers.count && numbers.all[place] == change.number
    }
  }
}
