extension Store {
  /// Opens the store in the folder in which this platform keeps the data of programs, or creates it.
  ///
  /// ```swift
  /// let store = try Store.standard(for: Person.self, Company.self)
  /// print(store.path)  // /home/ada/.local/share/addresses/store.larch
  /// ```
  ///
  /// The folder is `$XDG_DATA_HOME`, or `~/.local/share`, on Linux, and Application Support on Apple
  /// platforms. In it the store has a folder with the name of the program, which is made if it is
  /// missing, for nobody but the user. A second call in the same process, or another one, opens the
  /// same file, as with ``init(at:for:migrations:options:)-(String,_,_,_)``.
  ///
  /// - Parameters:
  ///   - types: the record types of the store.
  ///   - name: the name of the file, without its extension.
  ///   - program: the name of the folder. By default it is the bundle's identifier where there is
  ///     one, or else the name of the executable.
  ///   - migrations: the migrations to run once on each file, in this order.
  ///   - options: the options of the store. With ``Options/isReadOnly`` no folder is made.
  /// - Throws: `.unsuitableFile` if the system names no folder for data, if the folder is inside a
  ///   bundle, if a file is in its place, and for a name with a slash; `.accessDenied` if the folder
  ///   may not be made or written; the errors of
  ///   ``init(at:for:migrations:options:)-(String,_,_,_)``.
  /// - Complexity: that of ``init(at:for:migrations:options:)-(String,_,_,_)``.
  public static func standard(
    for types: any Record.Type..., named name: String = "store", program: String? = nil,
    migrations: [Migration] = [], options: Options = Options()
  ) throws -> Store {
    var options = options
    options.migrations += migrations
    return try standard(
      types: types, named: name, in: StandardPlace(program: program), options: options)
  }

  /// The path at which ``standard(for:named:program:migrations:options:)`` opens a store. Makes
  /// nothing: for ``destroy(at:)-(String)``, or to tell a user where the data is.
  ///
  /// - Throws: `.unsuitableFile`, as the opening.
  /// - Complexity: O(1).
  public static func standardPath(
    named name: String = "store", program: String? = nil
  ) throws -> String {
    try StandardPlace(program: program).path(named: name)
  }

  /// The list form of ``standard(for:named:program:migrations:options:)``, at any place.
  package static func standard(
    types: [any Record.Type], named name: String, in place: StandardPlace, options: Options
  ) throws -> Store {
    let path = try place.path(named: name)
    if !options.isReadOnly, options.createsFile { try place.makeFolder(for: path) }
    return try Store(path: path, types: types, options: options, isTemporary: false)
  }
}
