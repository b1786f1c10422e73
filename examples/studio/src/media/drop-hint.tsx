import type { ReactNode } from "react";

/** Covers a room while files are dragged over it. */
export function DropHint({ children }: { readonly children: ReactNode }) {
  return (
    <div className="pointer-events-none absolute inset-2 flex items-center justify-center rounded-2xl border-2 border-dashed border-accent bg-accent-soft/90 font-medium">
      {children}
    </div>
  );
}
