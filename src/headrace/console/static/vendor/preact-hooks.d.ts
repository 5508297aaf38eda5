// What the console uses of Preact's hooks, for the type checker.
export function useState<T>(initial: T | (() => T)): [T, (next: T | ((before: T) => T)) => void];
export function useEffect(effect: () => void | (() => void), inputs?: readonly unknown[]): void;
export function useLayoutEffect(effect: () => void | (() => void), inputs?: readonly unknown[]): void;
export function useRef<T>(initial: T | null): { current: any };
export function useMemo<T>(make: () => T, inputs: readonly unknown[]): T;
