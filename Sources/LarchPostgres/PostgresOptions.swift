/// How a log on a PostgreSQL server is reached.
public struct PostgresOptions: Sendable {
  /// The schema of the tables, which several stores share.
  public var schema = "larch"
  /// Seconds that each server of the address may take to accept a connection.
  ///
  /// The system's search for the address of a name is not counted.
  public var connectTimeout = 10.0
  /// Seconds that the server may be silent while it is asked something. After them the connection is given
  /// up, and the call throws `.unavailable`.
  public var answerTimeout = 30.0
  /// The most connections that all stores of this process use at once for calls to the server; further calls wait
  /// for a free one, in their order. Half as many more can hold the turns of shared stores.
  ///
  /// Stores with the same address and the same options share them.
  public var connections = 32

  /// The schema `larch`, and these times.
  public init() {}

  /// With times that are numbers, of a millisecond to eleven days.
  var usable: PostgresOptions {
    func time(_ seconds: Double) -> Double { seconds > 0.001 ? min(seconds, 1_000_000) : 0.001 }
    var options = self
    options.connectTimeout = time(connectTimeout)
    options.answerTimeout = time(answerTimeout)
    options.connections = max(2, connections)
    return options
  }
}
