/// Makes rows of selected values from keys of an index that have every field, without a look at each
/// field for where its value comes from. `RowSelector` does that for the rows that this cannot make.
final class KeyedValues {
  private let elements: SelectedElements
  private let components: KeyComponents
  /// For each field the component of the keys.
  private let places: UnsafeMutablePointer<Int>
  private let count: Int

  /// Nil if a field is in no key of the index, is nil in some, or is of a type that is not read from its bytes.
  init?(_ elements: SelectedElements, _ fields: [FieldReference], in schema: IndexSchema) {
    guard fields.count == elements.count, elements.readComponents else { return nil }
    let places = UnsafeMutablePointer<Int>.allocate(capacity: max(1, fields.count))
    for (place, field) in fields.enumerated() {
      guard field.isStandard, !field.isMultiple, let simple = field.form.simple,
        !simple.isOptional,
        let component = schema.fields.firstIndex(where: {
          $0.identity == field.identity && $0.form == field.form && !$0.isFolded && !$0.isMultiple
        })
      else {
        places.deallocate()
        return nil
      }
      places[place] = component
    }
    self.elements = elements
    self.places = places
    count = fields.count
    components = KeyComponents(schema)
  }

  /// For the rows of a plan; nil also if it does not read its index alone.
  convenience init?(_ elements: SelectedElements, _ fields: [FieldReference], _ run: PlanRun) {
    guard run.plan.isCovering, case .index(let scan) = run.plan.source,
      let schema = run.collection.indexes.first(where: { $0.position == scan.index })?.schema
    else { return nil }
    self.init(elements, fields, in: schema)
  }

  deinit { places.deallocate() }

  /// Makes the row of a key in its place; false, without making it, if the key does not determine every
  /// bit.
  func make(_ key: UnsafeRawBufferPointer, at target: UnsafeMutableRawPointer) throws -> Bool {
    components.open(key)
    var made = 0
    do {
      while made < count, case .value(let bytes) = try components.component(places[made]),
        elements.make(made, component: bytes, at: target)
      {
        made &+= 1
      }
    } catch {
      elements.destroy(first: made, at: target)
      throw error
    }
    if made == count { return true }
    elements.destroy(first: made, at: target)
    return false
  }
}
