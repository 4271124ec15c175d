internal import Larch

/// The output file of a command.
enum TargetFile {
  /// Adds the option for replacing a file to the error, if there is one.
  static func explaining<T>(
    _ path: String, _ isReplacing: Bool, _ body: () throws -> T
  ) throws -> T {
    do {
      return try body()
    } catch let error as LarchError where error.code == .fileExists && !isReplacing {
      throw UsageError(
        "a file exists at \(Quoted(path)); choose another path, or replace the file with --replace"
      )
    }
  }
}
