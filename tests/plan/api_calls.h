/* Every public function as a macro of its name that notes the call, so that a test can say which of them it has called. (A
 * macro is not expanded within itself: the inner name is the function.) */
#ifndef MLAF_TEST_API_CALLS_H
#define MLAF_TEST_API_CALLS_H

#include "mlaforge/mlaforge.h"

static void api_called(const char *name); /* the test's */

#define mlaf_call_run(...) (api_called("mlaf_call_run"), mlaf_call_run(__VA_ARGS__))
#define mlaf_check_tables(...) (api_called("mlaf_check_tables"), mlaf_check_tables(__VA_ARGS__))
#define mlaf_ctx_create(...) (api_called("mlaf_ctx_create"), mlaf_ctx_create(__VA_ARGS__))
#define mlaf_ctx_db_status(...) (api_called("mlaf_ctx_db_status"), mlaf_ctx_db_status(__VA_ARGS__))
#define mlaf_ctx_destroy(...) (api_called("mlaf_ctx_destroy"), mlaf_ctx_destroy(__VA_ARGS__))
#define mlaf_ctx_device_id(...) (api_called("mlaf_ctx_device_id"), mlaf_ctx_device_id(__VA_ARGS__))
#define mlaf_ctx_device_name(...) (api_called("mlaf_ctx_device_name"), mlaf_ctx_device_name(__VA_ARGS__))
#define mlaf_ctx_last_message(...) (api_called("mlaf_ctx_last_message"), mlaf_ctx_last_message(__VA_ARGS__))
#define mlaf_ctx_ordinal(...) (api_called("mlaf_ctx_ordinal"), mlaf_ctx_ordinal(__VA_ARGS__))
#define mlaf_ctx_target(...) (api_called("mlaf_ctx_target"), mlaf_ctx_target(__VA_ARGS__))
#define mlaf_execute(...) (api_called("mlaf_execute"), mlaf_execute(__VA_ARGS__))
#define mlaf_execute_workspace_size(...) (api_called("mlaf_execute_workspace_size"), mlaf_execute_workspace_size(__VA_ARGS__))
#define mlaf_mem_alloc(...) (api_called("mlaf_mem_alloc"), mlaf_mem_alloc(__VA_ARGS__))
#define mlaf_mem_fill(...) (api_called("mlaf_mem_fill"), mlaf_mem_fill(__VA_ARGS__))
#define mlaf_mem_free(...) (api_called("mlaf_mem_free"), mlaf_mem_free(__VA_ARGS__))
#define mlaf_mem_read(...) (api_called("mlaf_mem_read"), mlaf_mem_read(__VA_ARGS__))
#define mlaf_mem_write(...) (api_called("mlaf_mem_write"), mlaf_mem_write(__VA_ARGS__))
#define mlaf_model_at(...) (api_called("mlaf_model_at"), mlaf_model_at(__VA_ARGS__))
#define mlaf_model_find(...) (api_called("mlaf_model_find"), mlaf_model_find(__VA_ARGS__))
#define mlaf_operation_at(...) (api_called("mlaf_operation_at"), mlaf_operation_at(__VA_ARGS__))
#define mlaf_operation_check(...) (api_called("mlaf_operation_check"), mlaf_operation_check(__VA_ARGS__))
#define mlaf_plan_create(...) (api_called("mlaf_plan_create"), mlaf_plan_create(__VA_ARGS__))
#define mlaf_plan_for(...) (api_called("mlaf_plan_for"), mlaf_plan_for(__VA_ARGS__))
#define mlaf_plan_forget(...) (api_called("mlaf_plan_forget"), mlaf_plan_forget(__VA_ARGS__))
#define mlaf_plan_get(...) (api_called("mlaf_plan_get"), mlaf_plan_get(__VA_ARGS__))
#define mlaf_plan_query(...) (api_called("mlaf_plan_query"), mlaf_plan_query(__VA_ARGS__))
#define mlaf_plan_release(...) (api_called("mlaf_plan_release"), mlaf_plan_release(__VA_ARGS__))
#define mlaf_plan_retain(...) (api_called("mlaf_plan_retain"), mlaf_plan_retain(__VA_ARGS__))
#define mlaf_plan_workspace_size(...) (api_called("mlaf_plan_workspace_size"), mlaf_plan_workspace_size(__VA_ARGS__))
#define mlaf_problem_check(...) (api_called("mlaf_problem_check"), mlaf_problem_check(__VA_ARGS__))
#define mlaf_problem_parse(...) (api_called("mlaf_problem_parse"), mlaf_problem_parse(__VA_ARGS__))
#define mlaf_problem_print(...) (api_called("mlaf_problem_print"), mlaf_problem_print(__VA_ARGS__))
#define mlaf_run(...) (api_called("mlaf_run"), mlaf_run(__VA_ARGS__))
#define mlaf_run_workspace(...) (api_called("mlaf_run_workspace"), mlaf_run_workspace(__VA_ARGS__))
#define mlaf_status_name(...) (api_called("mlaf_status_name"), mlaf_status_name(__VA_ARGS__))
#define mlaf_status_text(...) (api_called("mlaf_status_text"), mlaf_status_text(__VA_ARGS__))
#define mlaf_sync(...) (api_called("mlaf_sync"), mlaf_sync(__VA_ARGS__))
#define mlaf_tune(...) (api_called("mlaf_tune"), mlaf_tune(__VA_ARGS__))
#define mlaf_tune_for(...) (api_called("mlaf_tune_for"), mlaf_tune_for(__VA_ARGS__))
#define mlaf_tuning_export(...) (api_called("mlaf_tuning_export"), mlaf_tuning_export(__VA_ARGS__))
#define mlaf_tuning_import(...) (api_called("mlaf_tuning_import"), mlaf_tuning_import(__VA_ARGS__))
#define mlaf_tuning_text_free(...) (api_called("mlaf_tuning_text_free"), mlaf_tuning_text_free(__VA_ARGS__))
#define mlaf_version(...) (api_called("mlaf_version"), mlaf_version(__VA_ARGS__))
#define mlaf_version_number(...) (api_called("mlaf_version_number"), mlaf_version_number(__VA_ARGS__))
#define mlaf_warm_up(...) (api_called("mlaf_warm_up"), mlaf_warm_up(__VA_ARGS__))
#define mlaf_warm_up_between(...) (api_called("mlaf_warm_up_between"), mlaf_warm_up_between(__VA_ARGS__))
#define mlaf_workspace_get(...) (api_called("mlaf_workspace_get"), mlaf_workspace_get(__VA_ARGS__))
#define mlaf_workspace_reserve(...) (api_called("mlaf_workspace_reserve"), mlaf_workspace_reserve(__VA_ARGS__))

#endif
