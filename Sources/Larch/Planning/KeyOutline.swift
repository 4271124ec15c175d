/// Where the keys of a `KeyOutline` have the number whose sum is asked for.
struct SummedNumber {
  let primitive: KeyForm.Primitive
  /// The place of its bytes, counted from the end of the value; nil if it is not the same in all keys.
  let place: Range<Int>?
}

/// The scan of a query that tests one field for one value, and nothing else: the entries of an index
/// whose keys begin with the value.
///
/// It is a part of what `PlanMemory` knows of an outline. Such a query is answered from the entries,
/// without a plan and without a run of it.
struct KeyOutline {
  /// The place of the index in the schema.
  let index: Int
  /// Whether the value is the whole key, so that the ids of its entries ascend.
  let isWhole: Bool
  /// Whether at most one record has the value.
  let isUnique: Bool
  /// Whether keys and ids have everything that is needed.
  let isCovering: Bool

  /// Nil if more is tested than one value.
  init?(_ scan: ScanOutline) {
    guard let match = scan.match, match.pointCount == 1, match.rangeCount == 1, !match.hasRange,
      !match.mayRepeat, scan.bounds.count == 1, scan.residue.isEmpty, scan.keyFilter.isEmpty
    else { return nil }
    index = match.index
    isWhole = scan.isPoints
    isUnique = match.isUnique
    isCovering = scan.isCovering
  }
}
