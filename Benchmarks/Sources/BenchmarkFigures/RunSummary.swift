public import Foundation

/// When and where figures were measured.
public struct RunOrigin: Codable, Equatable, Sendable {
  /// The day, as 2026-01-31.
  public var date: String
  /// Processor, memory and system, in words.
  public var machine: String
  /// How many rounds the medians are of.
  public var rounds: Int

  /// The origin of a run.
  public init(date: String, machine: String, rounds: Int) {
    self.date = date
    self.machine = machine
    self.rounds = rounds
  }

  /// A line under a table.
  var caption: String {
    "\(date), \(machine); medians of \(rounds) round\(rounds == 1 ? "" : "s")."
  }
}

/// What a run came to: for each operation what every peer took, and how that stands to raw LMDB.
public struct RunSummary: Codable, Equatable, Sendable {
  /// How good Larch must be and wants to be.
  public enum Limit: Codable, Equatable, Sendable {
    /// As a multiple of raw LMDB.
    case ratio(must: Double, aim: Double)
    /// As a time.
    case nanoseconds(must: Double, aim: Double)
    /// As a multiple of the peer that it must not be slower than; both codings keep it.
    case slowest(must: Double, aim: Double)

    /// What must hold and what is aimed at, in words.
    public func words(_ unit: String) -> (must: String, aim: String) {
      switch self {
      case .ratio(let must, let aim), .slowest(let must, let aim):
        (decimal(must, 2), decimal(aim, 2))
      case .nanoseconds(let must, let aim): (measured(must, unit), measured(aim, unit))
      }
    }
  }

  /// How a figure stands to its limit.
  public enum Verdict: Equatable, Sendable {
    case reachesAim, holds, missed
    /// Within its limit, but behind a peer that it must not be behind.
    case behind(peer: String)
  }

  /// An operation.
  public struct Row: Codable, Equatable, Sendable {
    /// Its name, such as R1.
    public var name: String
    /// What it does, in words.
    public var what: String
    /// What a figure is for: a record, a query; "bytes" for sizes.
    public var unit: String
    /// The operation of raw LMDB that ratios refer to, where it is another one.
    public var base: String?
    /// The peer that ratios refer to, where it is not raw LMDB in every row.
    public var unitPeer: String?
    /// The median of each peer: nanoseconds or bytes.
    public var figures: [String: Double]
    /// The median of each peer's ratios to raw LMDB, or to the unit of the row, each of one round.
    public var ratios: [String: Double]
    /// For Larch as a plain `Codable` struct.
    public var limit: Limit?
    /// For Larch coded memberwise.
    public var memberwiseLimit: Limit?
    /// The ratio of the named peers to one that they must not be slower than.
    public var toSlowest: [String: Double]
    /// That peer.
    public var slowest: String?

    /// An operation without limits; the others are set where there are any.
    public init(
      name: String, what: String, unit: String, figures: [String: Double],
      ratios: [String: Double]
    ) {
      (self.name, self.what, self.unit) = (name, what, unit)
      (self.figures, self.ratios) = (figures, ratios)
      toSlowest = [:]
    }

    /// The peer that ratios refer to.
    var ratioPeer: String { unitPeer ?? "lmdb" }

    /// Whether a peer keeps a limit; nothing where one of both is not there.
    public func verdict(of peer: String, _ limit: Limit?) -> Verdict? {
      let (must, aim, reached): (Double, Double, Double?)
      switch limit {
      case .ratio(let most, let best): (must, aim, reached) = (most, best, ratios[peer])
      case .nanoseconds(let most, let best): (must, aim, reached) = (most, best, figures[peer])
      case .slowest(let most, let best): (must, aim, reached) = (most, best, toSlowest[peer])
      case nil: return nil
      }
      guard let reached else { return nil }
      if let slowest, let ratio = toSlowest[peer], ratio > 1 { return .behind(peer: slowest) }
      return reached > must ? .missed : reached > aim ? .holds : .reachesAim
    }
  }

  /// When and where.
  public var origin: RunOrigin
  /// Records in each store.
  public var size: Int
  /// In the order of columns.
  public var peers: [String]
  /// In the order of the table.
  public var rows: [Row]

  /// The summary of a run.
  public init(origin: RunOrigin, size: Int, peers: [String], rows: [Row]) {
    (self.origin, self.size, self.peers, self.rows) = (origin, size, peers, rows)
  }
}

/// What the same run came to at several sizes.
public struct GrowthSummary: Codable, Equatable, Sendable {
  /// Between two sizes ratios differ by this much from noise alone.
  public static let tolerance = 1.15

  /// An operation.
  public struct Row: Codable, Equatable, Sendable {
    /// Its name.
    public var name: String
    /// What a figure is for.
    public var unit: String
    /// The medians of each peer, one a size.
    public var figures: [String: [Double]]
    /// How much more the largest size costs than the smallest, as a multiple of what it does for raw
    /// LMDB, or for the yardstick of the summary.
    public var growthToBase: [String: Double]

    /// An operation at several sizes.
    public init(
      name: String, unit: String, figures: [String: [Double]], growthToBase: [String: Double]
    ) {
      (self.name, self.unit) = (name, unit)
      (self.figures, self.growthToBase) = (figures, growthToBase)
    }
  }

  /// When and where.
  public var origin: RunOrigin
  /// Records in each store, ascending.
  public var sizes: [Int]
  /// In the order of columns.
  public var peers: [String]
  /// In the order of the table.
  public var rows: [Row]
  /// The peer whose growth the others are compared with, where it is not raw LMDB.
  public var yardstick: String?

  var base: String { yardstick ?? "lmdb" }

  /// The summary of runs.
  public init(
    origin: RunOrigin, sizes: [Int], peers: [String], rows: [Row], yardstick: String = "lmdb"
  ) {
    (self.origin, self.sizes, self.peers, self.rows) = (origin, sizes, peers, rows)
    self.yardstick = yardstick == "lmdb" ? nil : yardstick
  }
}

/// The summaries at the end of files of results, which are JSON objects, one a line.
public struct ResultFile: Codable {
  /// What a run came to.
  public var run: RunSummary?
  /// What runs at several sizes came to.
  public var growth: GrowthSummary?
  /// What a run of the shapes came to.
  public var shapes: RunSummary?
  /// What runs of the shapes at several sizes came to.
  public var shapesGrowth: GrowthSummary?

  /// A line with one of them.
  public init(
    run: RunSummary? = nil, growth: GrowthSummary? = nil, isOfShapes: Bool = false
  ) {
    if isOfShapes {
      (shapes, shapesGrowth) = (run, growth)
    } else {
      (self.run, self.growth) = (run, growth)
    }
  }

  private var isEmpty: Bool {
    run == nil && growth == nil && shapes == nil && shapesGrowth == nil
  }

  /// The last summary of each kind in these files.
  ///
  /// - Throws: ``FigureError`` when a file cannot be read or holds no summary.
  public init(contentsOf paths: [String]) throws {
    for path in paths {
      guard let data = FileManager.default.contents(atPath: path) else {
        throw FigureError("cannot read \(path)")
      }
      let lines = data.split(separator: UInt8(ascii: "\n"))
        .compactMap { try? JSONDecoder().decode(ResultFile.self, from: Data($0)) }
        .filter { !$0.isEmpty }
      guard !lines.isEmpty else {
        throw FigureError("\(path) holds no summary: it is no result file, or its run was stopped")
      }
      for line in lines {
        run = line.run ?? run
        growth = line.growth ?? growth
        shapes = line.shapes ?? shapes
        shapesGrowth = line.shapesGrowth ?? shapesGrowth
      }
    }
  }

  /// As one line of JSON, with its end.
  public func line() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self) + [UInt8(ascii: "\n")]
  }
}
