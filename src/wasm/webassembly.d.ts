/**
 * Owns: the part of the JavaScript WebAssembly API that the loader uses. The compiler option `lib` has
 * no DOM, which is where TypeScript keeps these, and Node's types leave them out.
 */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
    static imports(module: Module): { module: string; name: string; kind: string }[];
  }

  class Instance {
    constructor(module: Module, imports?: Record<string, never>);
    readonly exports: Readonly<Record<string, unknown>>;
  }

  interface Memory {
    /** Replaced by a new object, and the old one detached, whenever memory grows. */
    readonly buffer: ArrayBuffer;
  }
}
