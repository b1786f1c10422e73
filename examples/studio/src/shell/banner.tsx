import { FlaskConical } from "lucide-react";

/** Says that nothing here is real or costs money. A studio in front of another gateway has no banner. */
export function Banner() {
  if (import.meta.env.VITE_GATEWAY) return null;
  return (
    <header className="flex h-7 shrink-0 items-center justify-center gap-2 bg-accent-soft text-xs text-ink short:hidden">
      <FlaskConical className="size-3.5 text-accent" aria-hidden />
      Offline emulator · Free · Answers are scripted
    </header>
  );
}
