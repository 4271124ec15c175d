/// A test of words on the stored texts of a record.
final class WordsTest {
  typealias Outcome = ValueTest.Outcome

  private struct Place {
    /// Nil for the id.
    let path: FieldPath?
    let isOptional: Bool
    let isMultiple: Bool
  }

  private let places: [Place]
  private let matcher: TextMatcher

  /// Whether stored bytes are enough: each field is stored, or is the id.
  static func isDecidable(_ filter: WordsFilter) -> Bool {
    filter.fields.allSatisfy {
      $0.form.simple != nil && ($0.identity == .id || $0.storedPath != nil)
    }
  }

  init?(_ filter: WordsFilter, _ context: TransactionContext, _ reading: FieldReading?) {
    guard WordsTest.isDecidable(filter) else { return nil }
    places = filter.fields.map { field in
      let stored = field.identity == .id ? nil : field.storedPath
      return Place(
        path: stored.map { context.path($0, reading) },
        isOptional: field.form.simple?.isOptional ?? false, isMultiple: field.isMultiple)
    }
    matcher = TextMatcher(filter.query)
  }

  func test(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer, _ shapes: ShapeTable
  ) throws -> Outcome {
    matcher.begin()
    for place in places where !matcher.isDecided {
      guard try read(place, record, id, shapes) else { return .unknown }
    }
    return Outcome(matcher.finish())
  }

  /// False if the bytes are not those of a text: then the decoded record tells.
  private func read(
    _ place: Place, _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer,
    _ shapes: ShapeTable
  ) throws -> Bool {
    guard let path = place.path else {
      // The key of a text is 1 and its normal form, which has the same words.
      guard id.count >= 1, id[0] == 1 else { return false }
      return matcher.read(UnsafeRawBufferPointer(rebasing: id[1...]))
    }
    switch try path.read(in: record, shapes: shapes) {
    case .missing: return false
    case .absent: return place.isMultiple || place.isOptional
    case .value(.string, let bytes) where !place.isMultiple: return matcher.read(bytes)
    case .value(.list, let bytes) where place.isMultiple:
      var elements = try RawList(.list, bytes)
      while !matcher.isDecided, let element = try elements.next() {
        switch element {
        case .absent where place.isOptional: continue
        case .value(.string, let text):
          if !matcher.read(text) { return false }
        case .missing, .absent, .value: return false
        }
      }
      return true
    case .value: return false
    }
  }
}
