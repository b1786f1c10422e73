import { createRoot } from "react-dom/client";

/** The smallest page of React: what no studio can be faster than. */
createRoot(document.getElementById("root") as HTMLElement).render(<h1>Bare page of React</h1>);
