// Advice that differs on a page: what a command does elsewhere, a button does here. The rest is in explanations.js.
export default {
  no_slot: 'Wait, or give the node more slots on its page.',
  waiting_for_devices: 'Compare the scope of the run with the devices of the fleet: labels and names must match.',
  awaiting_retry: 'Wait. The page of the run tells why the attempt failed.',
  device_error: 'Mend the device, then return it to service on its page.',
  node_draining: 'Resume the node on its page when the maintenance is over.',
  device_contested: 'Let one of the two nodes report it; simulated devices can begin at another number.',
  session_paused: 'Resume the session on its page.',
  session_ended: 'Nothing if no frame is missing; else retry the missing frames on the page of the session.',
  farm_paused: 'Let all workers go on: on the page of the sessions.',
  sim_workers_quarantined: 'Find out why they failed, then approve them on the page of the fleet.',
  sim_worker_quarantined: 'Find out why, then approve it on its page.',
  requirements_unmet: 'Compare what the job requires with the specs of the workers.',
  pool_worker_draining: 'Its owner resumes it when it is to work again.',
  court_fleet_working: 'Ask why that one waits.',
  court_question_open: 'Answer it on the page of the court, or in its thread.',
};
