import "./styles.css";
import { SluiceDevtools } from "@sluice/devtools";
import { GatewayProvider } from "@sluice/react";
import { Activity, StrictMode, startTransition } from "react";
import { createRoot } from "react-dom/client";
import { ErrorBoundary } from "react-error-boundary";
import { Button } from "@/components/sluice/button";
import { HostedGate } from "../demo/hosted/gate.js";
import { client } from "./client.js";
import { preloadRoom, RouteContext, routeOf, useRooms } from "./rooms.js";
import { Shell } from "./shell/shell.js";
import { roomWords } from "./words.js";

/** True on the development server, at an address with `?devtools`. */
const hasDevtools = import.meta.env.DEV && new URLSearchParams(location.search).has("devtools");

const root = createRoot(document.getElementById("root") as HTMLElement);
// until then index.html shows the frame: the page is never empty
void preloadRoom(routeOf(location.hash).room).then(() =>
  // in slices: the page scrolls and takes clicks meanwhile
  startTransition(() =>
    root.render(
      <StrictMode>
        <GatewayProvider client={client}>
          <HostedGate>
            <App />
          </HostedGate>
          {hasDevtools && <SluiceDevtools />}
        </GatewayProvider>
      </StrictMode>,
    ),
  ),
);

/** The rooms of the studio, in their frame. A room that is left keeps its state and its place. */
function App() {
  const { route, visited, missing, tryAgain } = useRooms();
  return (
    <RouteContext value={route}>
      <Shell>
        {[...visited].map(([name, Room]) => (
          <Activity key={name} mode={name === route.room && !missing ? "visible" : "hidden"}>
            <ErrorBoundary
              fallbackRender={({ resetErrorBoundary }) => (
                <Problem text={roomWords.failed} onRetry={resetErrorBoundary} />
              )}
            >
              <Room />
            </ErrorBoundary>
          </Activity>
        ))}
        {missing && <Problem text={roomWords.unloadable} onRetry={tryAgain} />}
      </Shell>
    </RouteContext>
  );
}

/** The place of a room that is not there. */
function Problem({ text, onRetry }: { readonly text: string; readonly onRetry: () => void }) {
  return (
    <div role="alert" className="m-auto flex flex-col items-center gap-4 p-8 text-center">
      <p>{text}</p>
      <Button onClick={onRetry}>Try again</Button>
    </div>
  );
}
