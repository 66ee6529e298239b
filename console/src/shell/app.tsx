import { DrillPage } from "../drill/page";
import { FleetPage } from "../fleet/page";
import { IncidentsPage } from "../incidents/page";
import { JobsPage } from "../jobs/page";
import { connection } from "../live/session";
import { PlanPage } from "../plan/page";
import { ProbesPage } from "../probes/page";
import { Banner } from "./banner";
import { Header } from "./header";
import { Incidents } from "./incidents";
import { route } from "./route";
import { SignIn } from "./sign_in";

function Here() {
  switch (route.value.view) {
    case "incidents":
      return <IncidentsPage />;
    case "jobs":
      return <JobsPage />;
    case "probes":
      return <ProbesPage />;
    case "plan":
      return <PlanPage />;
    case "drill":
      return <DrillPage />;
    default:
      return <FleetPage />;
  }
}

export function App() {
  const state = connection.value;
  return (
    <>
      <Header />
      <Banner />
      {route.value.view === "fleet" && <Incidents />}
      {state.kind === "signed-out" ? <SignIn reason={state.reason} /> : <Here />}
    </>
  );
}
