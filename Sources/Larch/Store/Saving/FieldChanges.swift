/// Finds the fields with rules that a save changes, by comparing the bytes before and after it.
final class FieldChanges {
  /// The paths by collection, which is retained, so that its address is not reused. A path remembers
  /// where its field is in the bytes.
  private var known: [ObjectIdentifier: (owner: CollectionHandle, paths: [FieldPath])] = [:]
  private var last: (owner: CollectionHandle, paths: [FieldPath])?
  private let coder: RecordCoder
  /// Whether the last call of `fields` encoded a record, so that the bytes passed to it are no
  /// longer valid.
  private(set) var didEncode = false

  init(_ coder: RecordCoder) { self.coder = coder }

  /// The fields that differ, one bit for each field of the program. The highest bit is always set.
  func fields<R: Record>(
    _ program: ValidationProgram, of record: R, before: UnsafeRawBufferPointer,
    after: UnsafeRawBufferPointer, in collection: CollectionHandle
  ) throws -> UInt64 {
    didEncode = false
    let paths = paths(of: program, collection)
    let first = try differences(paths, before, after)
    if first.undecided == 0 { return first.changed | 1 << 63 }
    // The stored record has an older shape. Decoding and encoding it gives it the shape of the new
    // one.
    didEncode = true
    let after = [UInt8](after)
    let old: R
    do {
      old = try coder.decode(R.self, from: before)
    } catch let error as LarchError where error.code == .decodingFailed {
      // The old values are unknown, so every field may have changed.
      return .max
    }
    let again = try coder.encode(old)
    let second = try after.withUnsafeBytes { try differences(paths, again, $0) }
    var changed = second.changed | second.undecided | 1 << 63
    // If a nested value was nil in all records so far, no shape has its fields.
    for place in paths.indices where second.undecided & 1 << UInt64(place) != 0 {
      if program.fields[place].isNil(in: old), program.fields[place].isNil(in: record) {
        changed &= ~(1 << UInt64(place))
      }
    }
    return changed
  }

  /// Compares without decoding. A field is undecided if the bytes do not show whether it changed.
  private func differences(
    _ paths: [FieldPath], _ before: UnsafeRawBufferPointer, _ after: UnsafeRawBufferPointer
  ) throws -> (changed: UInt64, undecided: UInt64) {
    var changed: UInt64 = 0
    var undecided: UInt64 = 0
    for (place, path) in paths.enumerated() {
      let bit: UInt64 = 1 << UInt64(place)
      let old = try path.read(in: before, shapes: coder.shapes)
      let new = try path.read(in: after, shapes: coder.shapes)
      switch (old, new) {
      case (.absent, .absent): break
      case (.value(let kind, let bytes), .value(let otherKind, let otherBytes)):
        if kind != otherKind { undecided |= bit }
        if !bytes.equals(otherBytes) { changed |= bit }
      case (.missing, _), (_, .missing): undecided |= bit
      default: changed |= bit
      }
    }
    return (changed, undecided)
  }

  private func paths(
    of program: ValidationProgram, _ collection: CollectionHandle
  ) -> [FieldPath] {
    if let last, last.owner === collection { return last.paths }
    let id = ObjectIdentifier(collection)
    let found = known[id] ?? (collection, program.fields.map { FieldPath($0.path) })
    known[id] = found
    last = found
    return found.paths
  }
}
