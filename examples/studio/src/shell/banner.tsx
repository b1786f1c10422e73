import clsx from "clsx";
import { FlaskConical, WifiOff } from "lucide-react";
import { useSyncExternalStore } from "react";
import { isCut } from "../network.js";
import { useValue } from "../value.js";

/** Says that nothing here is real or costs money, and that the network is away. */
export function Banner() {
  const hasNetwork = useSyncExternalStore(watchNetwork, () => navigator.onLine);
  const isPlayed = useValue(isCut);
  const isOffline = isPlayed || !hasNetwork;
  // a studio in front of another gateway is no demo
  if (!isOffline && import.meta.env.VITE_GATEWAY) return null;
  const Icon = isOffline ? WifiOff : FlaskConical;
  return (
    <header
      className={clsx(
        "flex h-7 shrink-0 items-center justify-center gap-2 text-xs",
        isOffline ? "bg-warn-soft text-warn" : "bg-accent-soft text-ink short:hidden",
      )}
    >
      <Icon className={clsx("size-3.5", !isOffline && "text-accent")} aria-hidden />
      <span role="status">
        {isOffline
          ? "No connection · It resumes by itself"
          : "Offline emulator · Free · Answers are scripted"}
      </span>
    </header>
  );
}

function watchNetwork(onChange: () => void): () => void {
  addEventListener("online", onChange);
  addEventListener("offline", onChange);
  return () => {
    removeEventListener("online", onChange);
    removeEventListener("offline", onChange);
  };
}
