/// Where the elements of a tuple are in its memory, for types that are known only at run time.
enum TupleLayout {
  /// Whether the computed offsets may be used. Found out once, by tuples whose offsets Swift tells.
  static let isTrusted = RuntimeFeature.tupleMemory.passes {
    typealias Mixed = (Int8, Int64, Bool, String?)
    typealias Padded = (Int32?, Double, [Int])
    let mixed = [
      MemoryLayout<Mixed>.offset(of: \.0), MemoryLayout<Mixed>.offset(of: \.1),
      MemoryLayout<Mixed>.offset(of: \.2), MemoryLayout<Mixed>.offset(of: \.3),
    ]
    let padded = [
      MemoryLayout<Padded>.offset(of: \.0), MemoryLayout<Padded>.offset(of: \.1),
      MemoryLayout<Padded>.offset(of: \.2),
    ]
    return computed([Int8.self, Int64.self, Bool.self, String?.self], in: Mixed.self)
      == mixed.compactMap(\.self)
      && computed([Int32?.self, Double.self, [Int].self], in: Padded.self)
        == padded.compactMap(\.self)
  }

  /// The offsets of elements of these types; nil if they are not known.
  static func offsets(of elements: [Any.Type], in tuple: Any.Type) -> [Int]? {
    isTrusted ? computed(elements, in: tuple) : nil
  }

  /// Each element comes after the one before, at the next place that its alignment allows.
  private static func computed(_ elements: [Any.Type], in tuple: Any.Type) -> [Int]? {
    var offsets: [Int] = []
    var end = 0
    for element in elements {
      let memory = TypeLayout.Memory(of: element)
      let offset = (end &+ memory.alignment &- 1) / memory.alignment &* memory.alignment
      offsets.append(offset)
      end = offset &+ memory.size
    }
    return end == TypeLayout.Memory(of: tuple).size ? offsets : nil
  }
}
