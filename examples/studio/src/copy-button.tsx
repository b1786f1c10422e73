import { useEffect, useState } from "react";

const SHOWN_MS = 2000;

/** Copies what `textOf` gives, and says whether it could. `name` is what it is called where it is only heard. */
export function CopyButton({ textOf, name }: { textOf: () => string; name: string }) {
  const [result, setResult] = useState<"Copied" | "Could not copy">();

  useEffect(() => {
    if (!result) return;
    const timer = setTimeout(() => setResult(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [result]);

  const copy = async () => {
    try {
      // plain-http pages have no clipboard at all
      await navigator.clipboard.writeText(textOf());
      setResult("Copied");
    } catch {
      setResult("Could not copy");
    }
  };

  return (
    <button type="button" className="quiet small" aria-label={result ?? name} onClick={() => void copy()}>
      {result ?? "Copy"}
    </button>
  );
}
