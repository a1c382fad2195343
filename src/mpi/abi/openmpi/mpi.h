// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The ABI of Open MPI: libmpi.so.40, Open MPI 4.0 to 5.0 and what is built on it. Handles are addresses of
// objects that the library defines; they are weak here, so that a library without one of them can still be
// used.
#pragma once

#include <cstddef>

#define NIGH_ABI_OPENMPI 1
#define MPI_VERSION 5  // what the declarations are of; the library may be older
#define MPI_SUBVERSION 0

using MPI_Fint = int;
using MPI_Aint = std::ptrdiff_t;
using MPI_Offset = long long;
using MPI_Count = long long;
using MPI_Comm = struct ompi_communicator_t*;
using MPI_Datatype = struct ompi_datatype_t*;
using MPI_Errhandler = struct ompi_errhandler_t*;
using MPI_File = struct ompi_file_t*;
using MPI_Group = struct ompi_group_t*;
using MPI_Info = struct ompi_info_t*;
using MPI_Message = struct ompi_message_t*;
using MPI_Op = struct ompi_op_t*;
using MPI_Request = struct ompi_request_t*;
using MPI_Session = struct ompi_instance_t*;
using MPI_Win = struct ompi_win_t*;

struct ompi_status_public_t {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int _cancelled;
  std::size_t _ucount;  // bytes
};
using MPI_Status = ompi_status_public_t;

#include "mpi/abi/declarations.inc"

#define MPI_IN_PLACE ((void*)1)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)

extern "C" {
MPI_Comm_copy_attr_function OMPI_C_MPI_COMM_NULL_COPY_FN;
MPI_Type_copy_attr_function OMPI_C_MPI_TYPE_NULL_COPY_FN;
MPI_Win_copy_attr_function OMPI_C_MPI_WIN_NULL_COPY_FN;
MPI_Comm MPI_Comm_f2c(MPI_Fint comm);
}
#define MPI_COMM_NULL_COPY_FN OMPI_C_MPI_COMM_NULL_COPY_FN
#define MPI_TYPE_NULL_COPY_FN OMPI_C_MPI_TYPE_NULL_COPY_FN
#define MPI_WIN_NULL_COPY_FN OMPI_C_MPI_WIN_NULL_COPY_FN

struct ompi_predefined_object;
extern "C" {
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_comm_null;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_comm_self;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_comm_world;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_group_null;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_win_null;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_info_null;
extern __attribute__((weak)) struct ompi_predefined_object ompi_request_null;
extern __attribute__((weak)) struct ompi_predefined_object ompi_message_null;
extern __attribute__((weak)) struct ompi_predefined_object ompi_message_no_proc;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_errhandler_null;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_errors_are_fatal;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_errors_return;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_op_null;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_op_max;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_op_min;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_op_sum;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_op_prod;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_op_land;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_op_band;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_op_lor;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_op_bor;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_op_lxor;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_op_bxor;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_op_minloc;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_op_maxloc;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_op_replace;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_op_no_op;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_datatype_null;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_char;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_signed_char;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_unsigned_char;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_byte;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_packed;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_wchar;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_short;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_unsigned_short;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_int;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_unsigned;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_long;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_unsigned_long;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_long_long_int;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_unsigned_long_long;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_float;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_double;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_long_double;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_int8_t;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_int16_t;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_int32_t;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_int64_t;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_uint8_t;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_uint16_t;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_uint32_t;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_uint64_t;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_aint;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_offset;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_count;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_c_bool;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_c_float_complex;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_c_double_complex;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_c_long_double_complex;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_cxx_bool;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_cxx_cplex;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_cxx_dblcplex;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_cxx_ldblcplex;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_float_int;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_double_int;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_long_int;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_short_int;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_longdbl_int;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_2int;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_2integer;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_2real;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_2dblprec;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_character;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_logical;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_integer;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_integer1;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_integer2;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_integer4;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_integer8;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_real;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_real4;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_real8;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_dblprec;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_cplex;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_complex8;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_complex16;
extern __attribute__((weak)) struct ompi_predefined_object ompi_mpi_dblcplex;
}

#define MPI_COMM_NULL ((MPI_Comm)(void*)&ompi_mpi_comm_null)
#define MPI_COMM_SELF ((MPI_Comm)(void*)&ompi_mpi_comm_self)
#define MPI_COMM_WORLD ((MPI_Comm)(void*)&ompi_mpi_comm_world)

#define MPI_GROUP_NULL ((MPI_Group)(void*)&ompi_mpi_group_null)

#define MPI_WIN_NULL ((MPI_Win)(void*)&ompi_mpi_win_null)

#define MPI_INFO_NULL ((MPI_Info)(void*)&ompi_mpi_info_null)

#define MPI_REQUEST_NULL ((MPI_Request)(void*)&ompi_request_null)

#define MPI_MESSAGE_NULL ((MPI_Message)(void*)&ompi_message_null)
#define MPI_MESSAGE_NO_PROC ((MPI_Message)(void*)&ompi_message_no_proc)

#define MPI_ERRHANDLER_NULL ((MPI_Errhandler)(void*)&ompi_mpi_errhandler_null)
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)(void*)&ompi_mpi_errors_are_fatal)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)(void*)&ompi_mpi_errors_return)

#define MPI_OP_NULL ((MPI_Op)(void*)&ompi_mpi_op_null)
#define MPI_MAX ((MPI_Op)(void*)&ompi_mpi_op_max)
#define MPI_MIN ((MPI_Op)(void*)&ompi_mpi_op_min)
#define MPI_SUM ((MPI_Op)(void*)&ompi_mpi_op_sum)
#define MPI_PROD ((MPI_Op)(void*)&ompi_mpi_op_prod)
#define MPI_LAND ((MPI_Op)(void*)&ompi_mpi_op_land)
#define MPI_BAND ((MPI_Op)(void*)&ompi_mpi_op_band)
#define MPI_LOR ((MPI_Op)(void*)&ompi_mpi_op_lor)
#define MPI_BOR ((MPI_Op)(void*)&ompi_mpi_op_bor)
#define MPI_LXOR ((MPI_Op)(void*)&ompi_mpi_op_lxor)
#define MPI_BXOR ((MPI_Op)(void*)&ompi_mpi_op_bxor)
#define MPI_MINLOC ((MPI_Op)(void*)&ompi_mpi_op_minloc)
#define MPI_MAXLOC ((MPI_Op)(void*)&ompi_mpi_op_maxloc)
#define MPI_REPLACE ((MPI_Op)(void*)&ompi_mpi_op_replace)
#define MPI_NO_OP ((MPI_Op)(void*)&ompi_mpi_op_no_op)

#define MPI_DATATYPE_NULL ((MPI_Datatype)(void*)&ompi_mpi_datatype_null)
#define MPI_CHAR ((MPI_Datatype)(void*)&ompi_mpi_char)
#define MPI_SIGNED_CHAR ((MPI_Datatype)(void*)&ompi_mpi_signed_char)
#define MPI_UNSIGNED_CHAR ((MPI_Datatype)(void*)&ompi_mpi_unsigned_char)
#define MPI_BYTE ((MPI_Datatype)(void*)&ompi_mpi_byte)
#define MPI_PACKED ((MPI_Datatype)(void*)&ompi_mpi_packed)
#define MPI_WCHAR ((MPI_Datatype)(void*)&ompi_mpi_wchar)
#define MPI_SHORT ((MPI_Datatype)(void*)&ompi_mpi_short)
#define MPI_UNSIGNED_SHORT ((MPI_Datatype)(void*)&ompi_mpi_unsigned_short)
#define MPI_INT ((MPI_Datatype)(void*)&ompi_mpi_int)
#define MPI_UNSIGNED ((MPI_Datatype)(void*)&ompi_mpi_unsigned)
#define MPI_LONG ((MPI_Datatype)(void*)&ompi_mpi_long)
#define MPI_UNSIGNED_LONG ((MPI_Datatype)(void*)&ompi_mpi_unsigned_long)
#define MPI_LONG_LONG ((MPI_Datatype)(void*)&ompi_mpi_long_long_int)
#define MPI_UNSIGNED_LONG_LONG ((MPI_Datatype)(void*)&ompi_mpi_unsigned_long_long)
#define MPI_FLOAT ((MPI_Datatype)(void*)&ompi_mpi_float)
#define MPI_DOUBLE ((MPI_Datatype)(void*)&ompi_mpi_double)
#define MPI_LONG_DOUBLE ((MPI_Datatype)(void*)&ompi_mpi_long_double)
#define MPI_INT8_T ((MPI_Datatype)(void*)&ompi_mpi_int8_t)
#define MPI_INT16_T ((MPI_Datatype)(void*)&ompi_mpi_int16_t)
#define MPI_INT32_T ((MPI_Datatype)(void*)&ompi_mpi_int32_t)
#define MPI_INT64_T ((MPI_Datatype)(void*)&ompi_mpi_int64_t)
#define MPI_UINT8_T ((MPI_Datatype)(void*)&ompi_mpi_uint8_t)
#define MPI_UINT16_T ((MPI_Datatype)(void*)&ompi_mpi_uint16_t)
#define MPI_UINT32_T ((MPI_Datatype)(void*)&ompi_mpi_uint32_t)
#define MPI_UINT64_T ((MPI_Datatype)(void*)&ompi_mpi_uint64_t)
#define MPI_AINT ((MPI_Datatype)(void*)&ompi_mpi_aint)
#define MPI_OFFSET ((MPI_Datatype)(void*)&ompi_mpi_offset)
#define MPI_COUNT ((MPI_Datatype)(void*)&ompi_mpi_count)
#define MPI_C_BOOL ((MPI_Datatype)(void*)&ompi_mpi_c_bool)
#define MPI_C_FLOAT_COMPLEX ((MPI_Datatype)(void*)&ompi_mpi_c_float_complex)
#define MPI_C_DOUBLE_COMPLEX ((MPI_Datatype)(void*)&ompi_mpi_c_double_complex)
#define MPI_C_LONG_DOUBLE_COMPLEX ((MPI_Datatype)(void*)&ompi_mpi_c_long_double_complex)
#define MPI_CXX_BOOL ((MPI_Datatype)(void*)&ompi_mpi_cxx_bool)
#define MPI_CXX_FLOAT_COMPLEX ((MPI_Datatype)(void*)&ompi_mpi_cxx_cplex)
#define MPI_CXX_DOUBLE_COMPLEX ((MPI_Datatype)(void*)&ompi_mpi_cxx_dblcplex)
#define MPI_CXX_LONG_DOUBLE_COMPLEX ((MPI_Datatype)(void*)&ompi_mpi_cxx_ldblcplex)
#define MPI_FLOAT_INT ((MPI_Datatype)(void*)&ompi_mpi_float_int)
#define MPI_DOUBLE_INT ((MPI_Datatype)(void*)&ompi_mpi_double_int)
#define MPI_LONG_INT ((MPI_Datatype)(void*)&ompi_mpi_long_int)
#define MPI_SHORT_INT ((MPI_Datatype)(void*)&ompi_mpi_short_int)
#define MPI_LONG_DOUBLE_INT ((MPI_Datatype)(void*)&ompi_mpi_longdbl_int)
#define MPI_2INT ((MPI_Datatype)(void*)&ompi_mpi_2int)
#define MPI_2INTEGER ((MPI_Datatype)(void*)&ompi_mpi_2integer)
#define MPI_2REAL ((MPI_Datatype)(void*)&ompi_mpi_2real)
#define MPI_2DOUBLE_PRECISION ((MPI_Datatype)(void*)&ompi_mpi_2dblprec)
#define MPI_CHARACTER ((MPI_Datatype)(void*)&ompi_mpi_character)
#define MPI_LOGICAL ((MPI_Datatype)(void*)&ompi_mpi_logical)
#define MPI_INTEGER ((MPI_Datatype)(void*)&ompi_mpi_integer)
#define MPI_INTEGER1 ((MPI_Datatype)(void*)&ompi_mpi_integer1)
#define MPI_INTEGER2 ((MPI_Datatype)(void*)&ompi_mpi_integer2)
#define MPI_INTEGER4 ((MPI_Datatype)(void*)&ompi_mpi_integer4)
#define MPI_INTEGER8 ((MPI_Datatype)(void*)&ompi_mpi_integer8)
#define MPI_REAL ((MPI_Datatype)(void*)&ompi_mpi_real)
#define MPI_REAL4 ((MPI_Datatype)(void*)&ompi_mpi_real4)
#define MPI_REAL8 ((MPI_Datatype)(void*)&ompi_mpi_real8)
#define MPI_DOUBLE_PRECISION ((MPI_Datatype)(void*)&ompi_mpi_dblprec)
#define MPI_COMPLEX ((MPI_Datatype)(void*)&ompi_mpi_cplex)
#define MPI_COMPLEX8 ((MPI_Datatype)(void*)&ompi_mpi_complex8)
#define MPI_COMPLEX16 ((MPI_Datatype)(void*)&ompi_mpi_complex16)
#define MPI_DOUBLE_COMPLEX ((MPI_Datatype)(void*)&ompi_mpi_dblcplex)

#define MPI_SUCCESS 0
#define MPI_ERR_COUNT 2
#define MPI_ERR_TYPE 3
#define MPI_ERR_REQUEST 7
#define MPI_ERR_TRUNCATE 15
#define MPI_ERR_OTHER 16
#define MPI_ERR_IN_STATUS 18
#define MPI_ERR_PENDING 19
#define MPI_ERR_NO_MEM 39
#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-1)
#define MPI_PROC_NULL (-2)
#define MPI_ROOT (-4)
#define MPI_UNDEFINED (-32766)
#define MPI_KEYVAL_INVALID (-1)
#define MPI_TAG_UB 0
#define MPI_WIN_MODEL 11
#define MPI_WIN_UNIFIED 0
#define MPI_MODE_NOCHECK 1
#define MPI_LOCK_EXCLUSIVE 1
#define MPI_LOCK_SHARED 2
#define MPI_MODE_NOPRECEDE 2
#define MPI_MODE_NOSUCCEED 16
#define MPI_WIN_CREATE_FLAVOR 10
#define MPI_WIN_FLAVOR_ALLOCATE 2
#define MPI_COMM_TYPE_SHARED 0
#define MPI_MAX_LIBRARY_VERSION_STRING 256
#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_FUNNELED 1
#define MPI_THREAD_SERIALIZED 2
#define MPI_THREAD_MULTIPLE 3
#define MPI_CART 1
#define MPI_GRAPH 2
#define MPI_DIST_GRAPH 3
#define MPI_ORDER_FORTRAN 1
#define MPI_DISTRIBUTE_BLOCK 0
#define MPI_DISTRIBUTE_NONE 2
#define MPI_DISTRIBUTE_DFLT_DARG (-1)
#define MPI_COMBINER_NAMED 0
#define MPI_COMBINER_DUP 1
#define MPI_COMBINER_CONTIGUOUS 2
#define MPI_COMBINER_VECTOR 3
#define MPI_COMBINER_HVECTOR 5
#define MPI_COMBINER_INDEXED 6
#define MPI_COMBINER_HINDEXED 8
#define MPI_COMBINER_INDEXED_BLOCK 9
#define MPI_COMBINER_HINDEXED_BLOCK 18
#define MPI_COMBINER_STRUCT 11
#define MPI_COMBINER_SUBARRAY 12
#define MPI_COMBINER_DARRAY 13
#define MPI_COMBINER_F90_REAL 14
#define MPI_COMBINER_F90_COMPLEX 15
#define MPI_COMBINER_F90_INTEGER 16
#define MPI_COMBINER_RESIZED 17
#define MPI_COMBINER_VALUE_INDEX (-1)  // none has it yet
