/// Finds which fields of the rules of a type a save changes, in the bytes before and after it.
final class FieldChanges {
  /// The paths of a type, which remember where its fields lie.
  private var known: [ObjectIdentifier: [FieldPath]] = [:]
  private var last: (owner: ObjectIdentifier, paths: [FieldPath])?
  private let coder: RecordCoder
  /// Whether the last question needed another encoding, after which the bytes given are gone.
  private(set) var didEncode = false

  init(_ coder: RecordCoder) { self.coder = coder }

  /// The fields that differ, by the bits of the program; the highest bit is always set.
  func fields<R: Record>(
    _ program: ValidationProgram, of record: R, before: UnsafeRawBufferPointer,
    after: UnsafeRawBufferPointer, in collection: CollectionHandle
  ) throws -> UInt64 {
    didEncode = false
    let paths = paths(of: program, collection)
    let first = try differences(paths, before, after)
    if first.undecided == 0 { return first.changed | 1 << 63 }
    // The record is of an older shape. Read, and written again, it has the shape of the new one.
    didEncode = true
    let after = [UInt8](after)
    let old: R
    do {
      old = try coder.decode(R.self, from: before)
    } catch let error as LarchError where error.code == .decodingFailed {
      // What cannot be read may have been anything.
      return .max
    }
    let again = try coder.encode(old)
    let second = try after.withUnsafeBytes { try differences(paths, again, $0) }
    var changed = second.changed | second.undecided | 1 << 63
    // No shape has a nested value that was nil in all records so far.
    for place in paths.indices where second.undecided & 1 << UInt64(place) != 0 {
      if program.fields[place].isNil(in: old), program.fields[place].isNil(in: record) {
        changed &= ~(1 << UInt64(place))
      }
    }
    return changed
  }

  /// What bytes alone tell.
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
    let owner = ObjectIdentifier(collection)
    if let last, last.owner == owner { return last.paths }
    let paths = known[owner] ?? program.fields.map { FieldPath($0.path) }
    known[owner] = paths
    last = (owner, paths)
    return paths
  }
}
