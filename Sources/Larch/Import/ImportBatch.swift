/// The elements of an import that wait until all others are imported.
final class DeferredElements {
  var places: [ElementPlace] = []
  /// Where the first of them begins, by the bytes by which it is matched. Later elements that match
  /// the same record wait too, since the last one in the text counts.
  var starts: [[UInt8]: Int] = [:]
}

/// A batch of elements that are imported together, as far as they are valid.
final class ImportBatch<R: Record> {
  /// How many times a batch is tried without the elements whose references are dangling. Each time,
  /// other elements may lose their targets; longer chains are resolved element by element.
  private static var roundLimit: Int { 16 }

  private let importer: RecordImporter<R>
  private let elements: [ReadElement<R>]
  /// Whether each batch is a transaction of its own, at whose end no reference may dangle.
  private let isWhole: Bool
  /// The results of the elements that did not wait.
  private(set) var outcome = ImportReport()
  /// The elements that wait for later ones, with those of earlier batches: their references to
  /// their own type were dangling. Nil if none may wait.
  private let deferred: DeferredElements?

  init(
    _ importer: RecordImporter<R>, _ elements: [ReadElement<R>], isWhole: Bool,
    deferring deferred: DeferredElements?
  ) {
    self.importer = importer
    self.elements = elements
    self.isWhole = isWhole
    self.deferred = deferred
  }

  func run(in writer: some RecordWriting) throws {
    var rest = elements
    try holdBack(from: &rest, writer)
    for _ in 0..<ImportBatch.roundLimit {
      if rest.isEmpty { return }
      do {
        let done = try writer._writing { tx in try attempt(rest, in: tx) }
        outcome.add(done, importer.request.options)
        return
      } catch let found as UnresolvedElements {
        try writer._reading { tx in drop(found.elements, from: &rest, tx) }
        try holdBack(from: &rest, writer)
      }
    }
    if rest.isEmpty { return }
    if deferred != nil {
      try writer._reading { tx in for element in rest { wait(element, tx) } }
    } else {
      try runEach(rest, in: writer)
    }
  }

  private func drop(
    _ unresolved: [UnresolvedElement], from rest: inout [ReadElement<R>], _ tx: ReadTransaction
  ) {
    var found: [ElementPlace: UnresolvedElement] = [:]
    for element in unresolved { found[element.place] = element }
    rest.removeAll { element in
      guard let unresolved = found[element.place] else { return false }
      if deferred != nil, unresolved.mayComeLater {
        wait(element, tx)
      } else {
        outcome.add(
          ImportFailure(element.place, unresolved.error), importer.request.options)
      }
      return true
    }
  }

  private func wait(_ element: ReadElement<R>, _ tx: ReadTransaction) {
    deferred?.places.append(element.place)
    guard let key = importer.key(of: element, tx) else { return }
    let known = deferred?.starts[key] ?? .max
    deferred?.starts[key] = min(known, element.place.offset)
  }

  /// Defers the elements that match the record of a deferred one before them.
  private func holdBack(
    from rest: inout [ReadElement<R>], _ writer: some RecordWriting
  ) throws {
    guard let starts = deferred?.starts, !starts.isEmpty else { return }
    try writer._reading { tx in
      rest.removeAll { element in
        guard let key = importer.key(of: element, tx), let start = starts[key],
          start < element.place.offset
        else { return false }
        deferred?.places.append(element.place)
        return true
      }
    }
  }

  /// Saves all of them; elements that fail leave no changes.
  ///
  /// - Throws: `UnresolvedElements`, and errors that do not concern a single element.
  private func attempt(
    _ elements: [ReadElement<R>], in tx: WriteTransaction
  ) throws -> ImportReport {
    var done = ImportReport()
    var unresolved: [UnresolvedElement] = []
    let isOvertaking = deferred?.places.isEmpty == false
    var waiting = WaitingElements(tx)
    for element in elements {
      do {
        try waiting.note(element.place) {
          done.count(
            try importer.save(element, in: tx), element.place, importer.request.options)
        }
      } catch {
        if done.omit(element.place, error, importer.request.options) { continue }
        guard importer.isOfElement(error, tx) else { throw KeyedError.plain(error) }
        // One that waits may give up the value that this one wants.
        if isOvertaking, let error = KeyedError.plain(error) as? LarchError,
          error.code == .uniqueConflict || error.code == .idExists
        {
          unresolved.append(
            UnresolvedElement(place: element.place, error: error, mayComeLater: true))
        } else {
          done.add(ImportFailure(element.place, error), importer.request.options)
        }
      }
    }
    if isWhole { unresolved += try waiting.unresolved(R.self) }
    if !unresolved.isEmpty { throw UnresolvedElements(elements: unresolved) }
    return done
  }

  /// Saves each element alone, as long as that makes others possible.
  private func runEach(_ elements: [ReadElement<R>], in writer: some RecordWriting) throws {
    outcome.add(
      try writer._writing { tx in
        var done = ImportReport()
        var rest = groups(of: elements, tx)
        var round = 0
        while !rest.isEmpty {
          round += 1
          var failures: [Int: ImportFailure] = [:]
          var hasSaved = false
          /// Saves the elements of a group in order, until one cannot be saved.
          func go(on place: Int) throws {
            while failures[place] == nil, let element = rest[place].first {
              failures[place] = try saveAlone(element, in: tx, &done)
              guard failures[place] == nil else { return }
              rest[place].removeFirst()
              hasSaved = true
            }
          }
          for place in rest.indices { try go(on: place) }
          let isLast = round >= ImportBatch.roundLimit
          if !hasSaved || isLast {
            // Give up the first element of each group and try the next ones: other elements may
            // refer to the record that they save.
            for place in rest.indices {
              while rest[place].count > (isLast ? 0 : 1), let failure = failures[place] {
                done.add(failure, importer.request.options)
                rest[place].removeFirst()
                failures[place] = nil
                try go(on: place)
              }
            }
          }
          if !hasSaved {
            for place in rest.indices {
              if let failure = failures[place] { done.add(failure, importer.request.options) }
            }
            break
          }
          rest.removeAll(where: \.isEmpty)
          // In the opposite order: chains may lead in either direction.
          rest.reverse()
        }
        return done
      }, importer.request.options)
  }

  /// The elements that match one record, in their order: each group holds those of one record.
  private func groups(
    of elements: [ReadElement<R>], _ tx: ReadTransaction
  ) -> [ArraySlice<ReadElement<R>>] {
    var groups: [ArraySlice<ReadElement<R>>] = []
    var places: [[UInt8]: Int] = [:]
    for element in elements {
      let key = importer.key(of: element, tx)
      if let key, let place = places[key] {
        groups[place].append(element)
      } else {
        if let key { places[key] = groups.count }
        groups.append([element])
      }
    }
    return groups
  }

  /// Saves an element, or returns why it cannot be saved, with nothing changed.
  private func saveAlone(
    _ element: ReadElement<R>, in tx: WriteTransaction, _ done: inout ImportReport
  ) throws -> ImportFailure? {
    do {
      let saved = try tx.undoablePart {
        var waiting = WaitingElements(tx)
        var saved: RecordImporter<R>.Saved?
        try waiting.note(element.place) { saved = try importer.save(element, in: tx) }
        if let first = try waiting.unresolved(R.self).first { throw first.error }
        return saved
      }
      if let saved { done.count(saved, element.place, importer.request.options) }
      return nil
    } catch {
      if done.omit(element.place, error, importer.request.options) { return nil }
      guard importer.isOfElement(error, tx) else { throw KeyedError.plain(error) }
      return ImportFailure(element.place, error)
    }
  }
}

/// An element that cannot be saved yet: its record refers to one that does not exist, or wants a
/// value that another one still has.
struct UnresolvedElement {
  let place: ElementPlace
  let error: LarchError
  /// Whether a later element of the same text, or one that waits, could change that.
  let mayComeLater: Bool
}

/// Undoes a batch, which is tried again without these elements.
private struct UnresolvedElements: Error {
  let elements: [UnresolvedElement]
}

/// Remembers the elements whose references are checked again before the commit.
struct WaitingElements {
  private let tx: WriteTransaction
  private let start: Int
  private var places: [(end: Int, place: ElementPlace)] = []

  init(_ tx: WriteTransaction) {
    self.tx = tx
    start = tx.writer.maintainer.references.mark.records
  }

  mutating func note(_ place: ElementPlace, _ save: () throws -> Void) throws {
    let references = tx.writer.maintainer.references
    let before = references.mark.records
    try save()
    if references.mark.records > before { places.append((references.mark.records, place)) }
  }

  /// The elements whose records still have dangling references.
  func unresolved<R: Record>(_ type: R.Type) throws -> [UnresolvedElement] {
    if places.isEmpty { return [] }
    let collection = try tx.context.collection(of: type)
    var found: [UnresolvedElement] = []
    var next = places.startIndex
    for item in try tx.writer.maintainer.references.unresolved(from: start) {
      while next < places.endIndex, places[next].end <= item.place { next += 1 }
      guard next < places.endIndex else { break }
      let place = places[next].place
      if let last = found.last, last.place == place {
        // Every missing record must be able to come later.
        guard last.mayComeLater, item.target != collection.stored.id else { continue }
        found.removeLast()
      }
      found.append(
        UnresolvedElement(
          place: place, error: item.error, mayComeLater: item.target == collection.stored.id))
    }
    return found
  }
}
