/// The shapes of a store in one context: by id for reading, by content for writing.
///
/// Not thread-safe: every coder, and so every transaction, has its own. Ids are dense from 1. A
/// shape never changes, but after `truncate(to:)` its id may be reused for another shape. So a
/// cache for a shape must keep the shape itself and compare its identity.
package final class ShapeTable {
  /// Called for a shape below `count` that is not in memory; returns nil if the catalog does not
  /// have it.
  @exclusivity(unchecked) var loader: ((UInt16) throws -> Shape?)?

  /// The shapes 1...count exist, in memory or behind the loader.
  @exclusivity(unchecked) package private(set) var count: Int

  /// Rises with every `truncate`, so that caches notice it.
  @exclusivity(unchecked) private(set) var generation = 0

  // Index is id - 1.
  @exclusivity(unchecked) private var shapes: [Shape?]
  @exclusivity(unchecked) private var idsByTypeName: [String: [UInt16]] = [:]
  // Shapes 1...indexed are in idsByTypeName.
  @exclusivity(unchecked) private var indexed = 0

  /// A table of the shapes 1...count, which the loader loads when they are needed.
  init(count: Int = 0) {
    self.count = count
    shapes = Array(repeating: nil, count: count)
  }

  /// The shape with this id.
  package func shape(_ id: UInt16) throws -> Shape {
    let index = Int(id) - 1
    if index >= 0, index < shapes.count, let shape = shapes[index] { return shape }
    return try load(id)
  }

  /// The shape with exactly these fields for the type; created with the next id if there is none.
  package func intern(typeName: String, fields: [ShapeField]) throws -> Shape {
    if let found = try first(typeName: typeName, where: { $0.fields == fields }) { return found }
    guard count < Int(RecordFormat.shapeMask) else {
      throw LarchError(
        .encodingFailed, "The store has reached the maximum number of record shapes.")
    }
    let shape = Shape(id: UInt16(count + 1), typeName: typeName, fields: fields)
    append(shape)
    return shape
  }

  /// The newest shape of the type that fits.
  func first(typeName: String, where fits: (Shape) -> Bool) throws -> Shape? {
    try indexAll()
    for id in (idsByTypeName[typeName] ?? []).reversed() {
      let shape = try shape(id)
      if fits(shape) { return shape }
    }
    return nil
  }

  /// The number of shapes of the type.
  func shapeCount(typeName: String) throws -> Int {
    try indexAll()
    return idsByTypeName[typeName]?.count ?? 0
  }

  /// Adds the shape with the next id.
  private func append(_ shape: Shape) {
    // Only `intern` appends shapes, with the next id; stored shapes are loaded under their own.
    precondition(Int(shape.id) == count + 1, "shape ids are dense")
    shapes.append(shape)
    count += 1
  }

  /// Sets the number of shapes in the file: other programs may have added some, or an addition was
  /// undone.
  package func setCount(_ newCount: Int) {
    if newCount < count { return truncate(to: newCount) }
    shapes.append(contentsOf: repeatElement(nil, count: newCount - count))
    count = newCount
  }

  /// Forgets the shapes after `count`: the transaction that made them was rolled back.
  package func truncate(to newCount: Int) {
    guard newCount < count else { return }
    shapes.removeLast(count - newCount)
    count = newCount
    generation += 1
    indexed = 0
    idsByTypeName = [:]
  }

  private func load(_ id: UInt16) throws -> Shape {
    let index = Int(id) - 1
    // A reader discovers new shapes through their first record.
    guard index >= 0, let shape = try loader?(id), shape.id == id else {
      throw LarchError(
        .corrupted, "A record has a shape that is missing in the catalog; verify the store."
      ) { $0.detail = "shape \(id)" }
    }
    if index >= count { setCount(index + 1) }
    shapes[index] = shape
    return shape
  }

  private func indexAll() throws {
    while indexed < count {
      let shape = try shape(UInt16(indexed + 1))
      idsByTypeName[shape.typeName, default: []].append(shape.id)
      indexed += 1
    }
  }
}
