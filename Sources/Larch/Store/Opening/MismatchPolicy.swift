extension Store {
  /// What an opening does with a file whose stored schema does not fit the declared types.
  ///
  /// See ``Options/onMismatch``.
  public struct MismatchPolicy: Sendable, Hashable {
    /// Whether the file is moved aside.
    package let movesAside: Bool
    /// Whether moving was asked for in a build in which it is refused.
    package let isRefusedHere: Bool

    package init(movesAside: Bool, isRefusedHere: Bool) {
      self.movesAside = movesAside
      self.isRefusedHere = isRefusedHere
    }

    /// The opening throws, and the file stays as it is; the default.
    public static let refuse = MismatchPolicy(movesAside: false, isRefusedHere: false)

    /// In a debug build, the file is moved aside, and a new store is opened at its path. In a
    /// release build the opening throws, as with ``refuse``.
    ///
    /// It is for the time in which types change daily. Larch is built in the configuration of the
    /// program that uses it, so that it knows which build this is.
    public static var moveAside: MismatchPolicy { moveAside(alsoInRelease: false) }

    /// The file is moved aside, and a new store is opened at its path.
    ///
    /// - Parameter alsoInRelease: whether also in a release build, where the file is one of a user
    ///   of the program. To them it looks as if all data were gone, until someone puts it back.
    public static func moveAside(alsoInRelease: Bool) -> MismatchPolicy {
      // Not an assertion: the debug build of Larch's own tests can be optimized.
      #if DEBUG
        let isDebug = true
      #else
        let isDebug = false
      #endif
      let moves = isDebug || alsoInRelease
      return MismatchPolicy(movesAside: moves, isRefusedHere: !moves)
    }
  }
}
