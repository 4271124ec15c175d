/// The ids that belong to this process in a shared store: a block is claimed in the log before an id of it is
/// handed out, so no other process or machine ever hands it out.
///
/// A run of a closure that is undone leaves its ids in the program, and they stay the program's: ids are only
/// taken from the front. What is left of a block when the process ends is never used.
///
/// Used only by the thread that has the write lock.
struct IDBlocks {
  static let firstSize: Int64 = 64
  /// A run that needs more at once gets more.
  static let usualSize: Int64 = 1024

  /// The block after the one in use, by collection.
  var reserves: [UInt32: Range<Int64>] = [:]
  /// Blocks that the running transaction claims for later, with the commit that it makes anyhow.
  var pending: [UInt32: Range<Int64>] = [:]
  /// How large the next block is.
  var sizes: [UInt32: Int64] = [:]
  /// The ids that were taken since the last commit.
  var taken: [UInt32: Int64] = [:]

  mutating func begin() { if !pending.isEmpty { pending = [:] } }

  mutating func commit() {
    if !taken.isEmpty { taken = [:] }
    if pending.isEmpty { return }
    for (collection, block) in pending { reserves[collection] = block }
    pending = [:]
  }
}

extension IDAllocator {
  /// Takes ids from blocks from now on.
  func beginBlocks() { if blocks == nil { blocks = IDBlocks() } }

  /// The store is not shared any more.
  func endBlocks() {
    forgetBlocks()
    blocks = nil
  }

  /// Forgets all blocks: the log does not have the claims any more.
  func forgetBlocks() {
    guard blocks != nil else { return }
    blocks = IDBlocks()
    for collection in sequences.keys { sequences[collection]?.end = 0 }
  }

  /// Goes on with the next block; false if there is none.
  func take(_ sequence: inout Sequence, of collection: UInt32) -> Bool {
    guard let block = blocks?.reserves.removeValue(forKey: collection), !block.isEmpty else {
      return false
    }
    use(block, &sequence, of: collection)
    return sequence.next < sequence.end
  }

  private func use(_ block: Range<Int64>, _ sequence: inout Sequence, of collection: UInt32) {
    // Ids in between belong to others.
    if sequence.next < block.lowerBound {
      undone.noteSkipped(sequence.next..<block.lowerBound, collection)
    }
    blocks?.taken[collection, default: 0] += Int64(block.count)
    sequence.next = min(max(block.lowerBound, sequence.assigned + 1), block.upperBound)
    sequence.end = block.upperBound
  }

  /// How many ids to claim: twice as many as the last time, and as a run has needed in vain.
  func nextBlockSize(_ collection: UInt32) -> Int64 {
    guard let blocks else { return 0 }
    let usual = min(blocks.sizes[collection] ?? IDBlocks.firstSize, IDBlocks.usualSize)
    return max(usual, 2 * (blocks.taken[collection] ?? 0))
  }

  /// Adds a block that is claimed.
  func addBlock(_ block: Range<Int64>, of collection: UInt32) {
    guard !block.isEmpty else { return }
    noteSize(block, of: collection)
    var sequence = sequences[collection] ?? Sequence()
    if sequence.next >= sequence.end {
      use(block, &sequence, of: collection)
      sequences[collection] = sequence
    } else {
      blocks?.reserves[collection] = block
    }
  }

  private func noteSize(_ block: Range<Int64>, of collection: UInt32) {
    blocks?.sizes[collection] = min(2 * Int64(block.count), IDBlocks.usualSize)
  }

  /// Whether so few ids are left that the running write should claim more with its commit.
  func needsReserve(_ collection: UInt32) -> Bool {
    guard let blocks, blocks.reserves[collection] == nil, blocks.pending[collection] == nil,
      let sequence = sequences[collection]
    else { return false }
    return sequence.end - sequence.next < nextBlockSize(collection) / 4
  }

  /// Notes a block that the running transaction claims. It counts once that is committed.
  func reserve(_ block: Range<Int64>, of collection: UInt32) {
    noteSize(block, of: collection)
    blocks?.pending[collection] = block
  }

  /// Forgets blocks whose claim is not in the transaction that is about to commit: a part of it was undone.
  func checkPendingBlocks(_ firstUnclaimed: (UInt32) throws -> Int64) throws {
    for (collection, block) in blocks?.pending ?? [:]
    where try firstUnclaimed(collection) < block.upperBound {
      blocks?.pending[collection] = nil
    }
  }

  /// Passes over ids of the own blocks that the program, or another one, has chosen itself.
  func skip(_ ids: ClosedRange<Int64>, of collection: UInt32) {
    if let sequence = sequences[collection], sequence.next <= ids.upperBound,
      ids.upperBound < sequence.end
    {
      undone.noteSkipped(sequence.next..<ids.upperBound + 1, collection)
      sequences[collection]?.next = ids.upperBound + 1
    }
    if let block = blocks?.reserves[collection], block.contains(ids.upperBound) {
      blocks?.reserves[collection] = ids.upperBound + 1..<block.upperBound
    }
  }

  /// The ids that are left in the own blocks.
  func left(_ collection: UInt32) -> [Range<Int64>] {
    var left: [Range<Int64>] = []
    if let sequence = sequences[collection], sequence.next < sequence.end {
      left.append(sequence.next..<sequence.end)
    }
    if let block = blocks?.reserves[collection], !block.isEmpty { left.append(block) }
    return left
  }
}
