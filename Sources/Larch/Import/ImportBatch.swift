/// A batch of elements that are imported together, as far as they are valid.
final class ImportBatch<R: Record> {
  /// How many times a batch is tried without the elements whose references are dangling. Each time,
  /// other elements may lose their targets; longer chains are resolved element by element.
  private static var roundLimit: Int { 16 }

  private let importer: RecordImporter<R>
  private let elements: [ReadElement<R>]
  /// Whether each batch is a transaction of its own, at whose end no reference may dangle.
  private let isWhole: Bool
  /// Whether elements may wait for later ones.
  private let defers: Bool

  /// The results of the elements that did not wait.
  private(set) var outcome = ImportReport()
  /// Elements whose references to their own type were dangling.
  private(set) var deferred: [ElementPlace] = []

  init(
    _ importer: RecordImporter<R>, _ elements: [ReadElement<R>], isWhole: Bool, defers: Bool
  ) {
    self.importer = importer
    self.elements = elements
    self.isWhole = isWhole
    self.defers = defers
  }

  func run(in writer: some RecordWriting) throws {
    var rest = elements
    for _ in 0..<ImportBatch.roundLimit {
      if rest.isEmpty { return }
      do {
        let done = try writer._writing { tx in try attempt(rest, in: tx) }
        outcome.add(done, importer.request.options)
        return
      } catch let found as UnresolvedElements {
        drop(found.elements)
        let places = Set(found.elements.map(\.place))
        rest.removeAll { places.contains($0.place) }
      }
    }
    if rest.isEmpty { return }
    if defers {
      deferred += rest.map(\.place)
    } else {
      try runEach(rest, in: writer)
    }
  }

  private func drop(_ elements: [UnresolvedElement]) {
    for element in elements {
      if defers, element.mayComeLater {
        deferred.append(element.place)
      } else {
        outcome.add(
          ImportFailure(element.place, element.error), importer.request.options)
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
        done.add(ImportFailure(element.place, error), importer.request.options)
      }
    }
    if isWhole {
      let unresolved = try waiting.unresolved(R.self)
      if !unresolved.isEmpty { throw UnresolvedElements(elements: unresolved) }
    }
    return done
  }

  /// Saves each element alone, as long as that makes others possible.
  private func runEach(_ elements: [ReadElement<R>], in writer: some RecordWriting) throws {
    let (done, failures) = try writer._writing { tx in
      var done = ImportReport()
      var rest = elements
      var failures: [ImportFailure] = []
      for _ in 0..<ImportBatch.roundLimit {
        var failed: [ReadElement<R>] = []
        failures = []
        for element in rest {
          do {
            let saved = try tx.undoablePart {
              var waiting = WaitingElements(tx)
              var saved: RecordImporter<R>.Saved?
              try waiting.note(element.place) { saved = try importer.save(element, in: tx) }
              if let first = try waiting.unresolved(R.self).first { throw first.error }
              return saved
            }
            if let saved { done.count(saved, element.place, importer.request.options) }
          } catch {
            if done.omit(element.place, error, importer.request.options) { continue }
            guard importer.isOfElement(error, tx) else { throw KeyedError.plain(error) }
            failures.append(ImportFailure(element.place, error))
            failed.append(element)
          }
        }
        if failed.count == rest.count || failed.isEmpty { break }
        // In the opposite order: chains may lead in either direction.
        rest = failed.reversed()
      }
      return (done, failures)
    }
    outcome.add(done, importer.request.options)
    for failure in failures { outcome.add(failure, importer.request.options) }
  }
}

/// An element whose record refers to one that does not exist.
struct UnresolvedElement {
  let place: ElementPlace
  let error: LarchError
  /// Whether a later element of the same text could be the missing record.
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
