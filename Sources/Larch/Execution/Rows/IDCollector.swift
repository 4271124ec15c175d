/// Collects the ids of sources that are not in order, or that are combined.
final class IDCollector {
  private let reader: RowReader
  private let width: Int?
  private(set) var entriesExamined = 0

  init(_ reader: RowReader) {
    self.reader = reader
    width = reader.collection.stored.idKind.width
  }

  /// The ids of a source, sorted and without duplicates. The residue of the plan is not tested.
  func collect(_ source: Plan.Source) throws -> IDList {
    if case .intersection(let sources) = source { return try intersect(sources) }
    var list = IDList(width: width)
    try append(source, to: &list)
    list.finish()
    return list
  }

  private func append(_ source: Plan.Source, to list: inout IDList) throws {
    switch source {
    case .nothing: break
    case .records(let ranges):
      let scanner = try RecordScanner(
        ranges, of: reader.collection, descends: false, in: reader.context)
      while let entry = try scanner.next() { list.append(entry.key) }
    case .index(let scan): try append(scan, to: &list)
    case .list(let scan):
      let scanner = try IndexScanner(scan, in: reader.collection, context: reader.context)
      let skipsUnsaved = reader.context.hasUnsavedMembers
      while try scanner.nextKey() {
        while try scanner.nextID() {
          if skipsUnsaved, try !reader.isThere(scanner.id) { continue }
          list.append(scanner.id)
        }
      }
      entriesExamined += scanner.entriesExamined
    case .search(let scan):
      let search = try SearchEvaluator(scan, reader)
      try search.forEachID { list.append($0) }
      entriesExamined += search.entriesExamined
    case .union(let sources):
      for source in sources { try append(source, to: &list) }
    case .intersection(let sources):
      let common = try intersect(sources)
      for place in 0..<common.count { list.append(common[place]) }
    }
  }

  private func append(_ scan: Plan.IndexScan, to list: inout IDList) throws {
    let scanner = try IndexScanner(scan, in: reader.collection, context: reader.context)
    // Ids that are collected twice are kept once.
    let isWhole = try scanner.forEachRun { _, ids in
      list.append(run: ids)
      return true
    }
    if isWhole {
      entriesExamined += scanner.entriesExamined
      return
    }
    let filter = try FilterProgram.of(
      scan.keyFilter, context: reader.context, typed: reader.typed)
    while try scanner.nextKey() {
      while try scanner.nextID() {
        if scanner.isUndecided, let filter {
          let record = try reader.read(scanner.id)
          guard try reader.matches(filter, record, scanner.id) else { continue }
        }
        list.append(scanner.id)
      }
    }
    entriesExamined += scanner.entriesExamined
  }

  private func intersect(_ sources: [Plan.Source]) throws -> IDList {
    guard let first = sources.first else { return IDList(width: width) }
    var common = try collect(first)
    for source in sources.dropFirst() {
      if common.count == 0 { break }
      let other = try collect(source)
      common = IDCollector.intersect(common, other, width)
    }
    return common
  }

  private static func intersect(
    _ first: consuming IDList, _ second: borrowing IDList, _ width: Int?
  ) -> IDList {
    var result = IDList(width: width)
    var place = 0
    var other = 0
    while place < first.count, other < second.count {
      let id = first[place]
      other = second.place(atOrAfter: id, from: other)
      guard other < second.count else { break }
      if compareBytes(second[other], id) == 0 {
        result.append(id)
        place += 1
      } else {
        place = first.place(atOrAfter: second[other], from: place + 1)
      }
    }
    return result
  }
}
