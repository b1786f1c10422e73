import clsx from "clsx";

/** Bars in place of words, each with its width and colour. */
function Bars({ bars }: { readonly bars: readonly string[] }) {
  return bars.map((bar) => <span key={bar} className={clsx("h-1.5 rounded-full", bar)} />);
}

/** Drawing of an answer with code and a formula. */
export function AnswerSketch() {
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-col gap-1.5 rounded-lg bg-sunken p-2">
        <div className="flex gap-1.5">
          <Bars bars={["w-8 bg-accent", "w-14 bg-edge", "w-6 bg-warn"]} />
        </div>
        <div className="flex gap-1.5 pl-3">
          <Bars bars={["w-10 bg-edge", "w-12 bg-accent/60", "w-4 bg-edge/60"]} />
        </div>
        <div className="flex gap-1.5 pl-3">
          <Bars bars={["w-6 bg-warn", "w-16 bg-edge"]} />
        </div>
      </div>
      <p className="text-center font-serif text-sm whitespace-nowrap italic">
        x = (−b ± √<span className="border-t border-ink">b² − 4ac</span>) / 2a
      </p>
    </div>
  );
}

/** Drawing of a tool that waits for approval. */
export function ApprovalSketch() {
  return (
    <div className="flex flex-col gap-3 rounded-lg border bg-surface p-3">
      <span className="font-mono text-xs">save_note(…)</span>
      <div className="flex gap-2 text-xs font-medium">
        <span className="rounded-md bg-accent px-2 py-1 text-on-accent">Approve</span>
        <span className="rounded-md border px-2 py-1">Deny</span>
      </div>
    </div>
  );
}

/** Drawing of two attempts that fail, and one that works. */
export function RetrySketch() {
  return (
    <div className="flex flex-col gap-2 pt-1 font-mono text-xs">
      {[
        { label: "429", bar: "w-1/4 bg-danger" },
        { label: "429", bar: "ml-[35%] w-1/4 bg-danger" },
        { label: "200", bar: "ml-[70%] w-[30%] bg-accent" },
      ].map(({ label, bar }) => (
        <div key={bar} className="flex items-center gap-2">
          <span className="w-7 text-muted">{label}</span>
          <span className="grow">
            <span className={clsx("block h-2 rounded-full", bar)} />
          </span>
        </div>
      ))}
    </div>
  );
}
