// What the console uses of Preact's signals, for the type checker.
export interface Signal<T> { value: T; peek(): T; }
export function signal<T>(value: T): Signal<T>;
export function computed<T>(make: () => T): Signal<T>;
export function effect(run: () => void): () => void;
