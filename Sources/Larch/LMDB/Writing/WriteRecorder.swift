/// The record of what a write changes, made while the write runs: for the commit log beside the file, and
/// for the outbox in it. If there are both, the record is made once.
///
/// The functions of `LMDB/Access` call it for each change, as they call those who observe the store. It
/// also passes the calls on to them. A change is noted before LMDB makes it, since its key
/// may lie in a page that the change moves, and is taken back if LMDB changes nothing.
///
/// Used only by the thread that has the write lock.
final class WriteRecorder: TransactionWatcher {
  /// A tree that the record names: its handle is known only in this process.
  private struct Tree {
    let handle: UInt32
    let name: String
    let flags: UInt32
  }

  /// Where a child transaction began.
  private struct Savepoint {
    let count: Int
    let operations: UInt32
    let trees: [Tree]
    let isLarge: Bool
  }

  /// A value that LMDB has made room for, and that its writer fills before the next change.
  private struct Room {
    /// Where the value belongs in `bytes`.
    let place: Int
    let source: UnsafeMutableRawBufferPointer
  }

  /// A longer record is not complete.
  private var limit = 0
  /// The name and the flags of a tree, by its handle.
  private let describe: (UInt32) -> (name: String, flags: UInt32)?
  private var observer: TransactionWatcher?

  private var bytes: UnsafeMutableRawBufferPointer
  private var count = 0
  /// How many changes there are that were not undone.
  private(set) var operations: UInt32 = 0
  private var trees: [Tree] = []
  private var savepoints: [Savepoint] = []
  private var room: Room?
  /// Where the last operation begins, while it can be taken back.
  private var last = 0
  /// Whether the write has changed anything, even if that was undone.
  private(set) var hasChanged = false
  /// Whether the record is too long, so that it is not complete.
  private(set) var isLarge = false

  init(describe: @escaping (UInt32) -> (name: String, flags: UInt32)?) {
    self.describe = describe
    bytes = .allocate(byteCount: 4096, alignment: 16)
  }

  deinit { bytes.deallocate() }

  override var isObserving: Bool { observer != nil }

  /// Begins the record of a transaction.
  ///
  /// - Parameter limit: how many bytes of changes are kept.
  func begin(limit: Int, observer: TransactionWatcher?) {
    self.limit = limit
    self.observer = observer
    count = 0
    operations = 0
    trees.removeAll(keepingCapacity: true)
    savepoints.removeAll(keepingCapacity: true)
    room = nil
    hasChanged = false
    isLarge = false
    if bytes.count > 1 << 20 {
      bytes.deallocate()
      bytes = .allocate(byteCount: 4096, alignment: 16)
    }
  }

  // MARK: Changes

  override func willPut(
    _ tree: UInt32, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) {
    add(.put, tree, key, value)
  }

  override func willReserve(_ tree: UInt32, _ key: UnsafeRawBufferPointer, _ size: Int) {
    add(.put, tree, key, nil, valueSize: size)
  }

  override func didReserve(_ room: UnsafeMutableRawBufferPointer) {
    if !isLarge { self.room = Room(place: count - room.count, source: room) }
  }

  override func willDelete(
    _ tree: UInt32, _ key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?
  ) {
    add(value == nil ? .deleteKey : .deletePair, tree, key, value)
  }

  override func willEmpty(_ tree: UInt32, drops: Bool) {
    add(drops ? .drop : .empty, tree, nil, nil)
    // Another tree may get the handle.
    if drops { trees.indices.forEach { if trees[$0].handle == tree { forget($0) } } }
  }

  override func didCreate(_ tree: UInt32) {
    add(.create, tree, nil, nil)
  }

  override func didNotChange() {
    guard !isLarge else { return }
    count = last
    operations &-= 1
  }

  private func forget(_ index: Int) {
    trees[index] = Tree(handle: .max, name: trees[index].name, flags: trees[index].flags)
  }

  /// - Parameter valueSize: the size of a value that comes later; room is left for it.
  private func add(
    _ operation: LoggedOperation, _ tree: UInt32, _ key: UnsafeRawBufferPointer?,
    _ value: UnsafeRawBufferPointer?, valueSize: Int = 0
  ) {
    hasChanged = true
    fill()
    let keySize = key?.count ?? 0
    let valueSize = value?.count ?? valueSize
    let size = LoggedOperation.headerSize + keySize + valueSize
    guard !isLarge, count + size <= limit, keySize <= Int(UInt16.max),
      let number = number(of: tree)
    else {
      isLarge = true
      return
    }
    makeRoom(for: size)
    last = count
    bytes[count] = operation.rawValue
    bytes.storeBytes(of: number.littleEndian, toByteOffset: count + 1, as: UInt16.self)
    bytes.storeBytes(
      of: UInt16(keySize).littleEndian, toByteOffset: count + 3, as: UInt16.self)
    bytes.storeBytes(
      of: UInt32(valueSize).littleEndian, toByteOffset: count + 5, as: UInt32.self)
    let keyPlace = count + LoggedOperation.headerSize
    copy(key, to: keyPlace)
    copy(value, to: keyPlace + keySize)
    count += size
    operations += 1
  }

  private func copy(_ source: UnsafeRawBufferPointer?, to place: Int) {
    guard let source, !source.isEmpty else { return }
    UnsafeMutableRawBufferPointer(rebasing: bytes[place..<place + source.count])
      .copyMemory(from: source)
  }

  private func makeRoom(for size: Int) {
    guard count + size > bytes.count else { return }
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(2 * bytes.count, count + size), alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    bytes.deallocate()
    bytes = larger
  }

  /// Copies the value that was written last where LMDB had made room for it.
  private func fill() {
    guard let room else { return }
    self.room = nil
    UnsafeMutableRawBufferPointer(rebasing: bytes[room.place..<room.place + room.source.count])
      .copyMemory(from: UnsafeRawBufferPointer(room.source))
  }

  private func number(of tree: UInt32) -> UInt16? {
    // The newest first: writes stay with a tree for a while.
    if let index = trees.lastIndex(where: { $0.handle == tree }) { return UInt16(index) }
    guard trees.count < Int(UInt16.max),
      let (name, flags) = describe(tree)
    else { return nil }
    trees.append(Tree(handle: tree, name: name, flags: flags))
    return UInt16(trees.count - 1)
  }

  // MARK: Children

  override func didBeginChild() {
    fill()
    savepoints.append(
      Savepoint(count: count, operations: operations, trees: trees, isLarge: isLarge))
    observer?.didBeginChild()
  }

  override func didCommit() {
    // The transaction itself ends with its record written.
    _ = savepoints.popLast()
    observer?.didCommit()
  }

  override func didAbort() {
    room = nil
    if let savepoint = savepoints.popLast() {
      count = min(count, savepoint.count)
      operations = savepoint.operations
      trees = savepoint.trees
      isLarge = savepoint.isLarge
    }
    observer?.didAbort()
  }

  // MARK: Those who observe

  override func didRead(_ tree: UInt32) { observer?.didRead(tree) }

  override func willWrite(_ tree: UInt32, _ key: UnsafeRawBufferPointer) -> Bool {
    // What is there may be read now; the value before is complete.
    fill()
    return observer?.willWrite(tree, key) ?? false
  }

  override func keep<E: Error>(
    _ tree: UInt32, _ key: UnsafeRawBufferPointer,
    current: () throws(E) -> UnsafeRawBufferPointer?
  ) throws(E) {
    try observer?.keep(tree, key, current: current)
  }

  override func willEmpty<E: Error>(
    _ tree: UInt32,
    forEach: ((UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool) throws(E) -> Void
  ) throws(E) {
    fill()
    try observer?.willEmpty(tree, forEach: forEach)
  }

  // MARK: The record

  /// The bytes of the changes.
  var size: Int { count }

  /// The whole record of the transaction; nil if it is too long.
  ///
  /// - Parameters:
  ///   - headerSize: the room before the trees.
  ///   - fill: fills the room, which has zeros.
  func record(
    headerSize: Int,
    _ fill: (_ header: UnsafeMutableRawBufferPointer, _ trees: Int, _ operations: UInt32) -> Void
  ) -> [UInt8]? {
    self.fill()
    guard !isLarge else { return nil }
    let names = trees.reduce(0) { $0 + 6 + $1.name.utf8.count }
    let length = headerSize + names + count
    return [UInt8](unsafeUninitializedCapacity: length) { target, used in
      let target = UnsafeMutableRawBufferPointer(target)
      let header = UnsafeMutableRawBufferPointer(rebasing: target[..<headerSize])
      header.initializeMemory(as: UInt8.self, repeating: 0)
      fill(header, trees.count, operations)
      var place = headerSize
      for tree in trees {
        let name = Array(tree.name.utf8)
        target.storeBytes(of: tree.flags.littleEndian, toByteOffset: place, as: UInt32.self)
        target.storeBytes(
          of: UInt16(name.count).littleEndian, toByteOffset: place + 4, as: UInt16.self)
        UnsafeMutableRawBufferPointer(rebasing: target[(place + 6)...]).copyBytes(from: name)
        place += 6 + name.count
      }
      UnsafeMutableRawBufferPointer(rebasing: target[place...])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      used = length
    }
  }

  /// The record with a header of its own, as `ChangeRecord` reads it; nil if it is too long.
  func changes() -> [UInt8]? {
    record(headerSize: ChangeRecord.headerSize) { header, trees, operations in
      header.storeBytes(of: ChangeRecord.version.littleEndian, as: UInt16.self)
      header.storeBytes(of: UInt16(trees).littleEndian, toByteOffset: 2, as: UInt16.self)
      header.storeBytes(of: operations.littleEndian, toByteOffset: 4, as: UInt32.self)
    }
  }
}
